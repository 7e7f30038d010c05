"""Search with a language model, which reads section trees and names the pages that answer."""
