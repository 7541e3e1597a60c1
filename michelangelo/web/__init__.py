"""What the pages share: controls, windows into long prompts, cached instances, links. No page computes; these do."""
