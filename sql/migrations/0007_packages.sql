-- A lock file in the tree that packages of a sandbox were installed from.
ALTER TABLE boxes ADD COLUMN packages_from text;
