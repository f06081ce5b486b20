-- The time since which only faults of this service prevented attempts; null: none did.
ALTER TABLE deliveries ADD COLUMN own_fault_us INTEGER;
