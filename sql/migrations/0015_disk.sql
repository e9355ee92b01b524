-- A box whose disk is held to nothing says so: a container's lies in its engine's store.
ALTER TABLE boxes ALTER COLUMN disk_bytes DROP NOT NULL;
UPDATE boxes SET disk_bytes = NULL WHERE runtime IN ('podman', 'docker');
