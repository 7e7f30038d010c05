"""What the engine gives, frozen: made and compared by ``scripts/freeze``, so that a regrouping changes nothing."""
