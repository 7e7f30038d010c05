"""What models add to a document that is published already: pages described from their pictures, trees, summaries."""
