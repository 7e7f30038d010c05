"""The stages of a search, and the search state that is passed from stage to stage."""
