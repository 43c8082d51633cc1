"""A table of PostgreSQL that slows down with the size of a transaction: three regimes, for real.

A trigger compares each new row with all rows of its transaction, as a check for duplicates without
a fitting index does: n rows cost n² looks. Small batches take as long as a transaction, medium ones
grow slowly, and beyond some thousand rows the looks are all that counts.
"""

from __future__ import annotations

from typing import LiteralString

TABLE = "orders"

SCHEMA: LiteralString = """
CREATE TABLE orders (id text PRIMARY KEY, item int, tx bigint NOT NULL DEFAULT txid_current());
CREATE INDEX ON orders (tx);
CREATE FUNCTION looks_for_duplicates() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM count(*) FROM orders WHERE tx = NEW.tx AND item = NEW.item AND id <> NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER duplicates AFTER INSERT ON orders
  FOR EACH ROW EXECUTE FUNCTION looks_for_duplicates();
"""

SQL = "SELECT partition || '-' || offset AS id, CAST(offset AS INT) AS item FROM source"
