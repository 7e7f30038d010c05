"""A model reads the section trees of the documents that the coarse pass chose, and says where the answer stands."""
