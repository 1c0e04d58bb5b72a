#!/bin/bash
sqlite3 /app/crm.db <<'END'
BEGIN;
CREATE TEMP TABLE keepers AS
  SELECT id, first_value(id) OVER (PARTITION BY lower(trim(email)) ORDER BY created, id) AS keeper
  FROM customers WHERE trim(coalesce(email, '')) <> '';
UPDATE orders SET customer = (SELECT keeper FROM keepers WHERE id = customer) WHERE customer IN (SELECT id FROM keepers);
DELETE FROM customers WHERE id IN (SELECT id FROM keepers WHERE keeper <> id);
UPDATE customers SET email = lower(trim(email)) WHERE trim(coalesce(email, '')) <> '';
CREATE UNIQUE INDEX customers_email ON customers(email) WHERE email IS NOT NULL AND trim(email) <> '';
COMMIT;
END
