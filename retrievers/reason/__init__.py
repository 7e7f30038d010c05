"""Search with a language model, which reads the section trees of the candidate documents and names the pages that
answer.
"""
