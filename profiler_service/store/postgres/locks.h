// Advisory locks of the store, in the order in which a transaction takes them (see sql::Scope).
#ifndef SASSAY_PROFILER_SERVICE_STORE_POSTGRES_LOCKS_H_
#define SASSAY_PROFILER_SERVICE_STORE_POSTGRES_LOCKS_H_

// Literals, because they are pasted into SQL. Keys are (class, number); the classes are ours in the whole database.
#define SASSAY_LOCKS "1396790099"         // of transactions
#define SASSAY_SLOTS "1396790100"         // of sessions: one for each live writer
#define SASSAY_BLOB_TENANTS "1396790101"  // of transactions: uploads of a tenant, by a hash of its name

#define SASSAY_LOCK_ADMISSION "pg_advisory_xact_lock(" SASSAY_LOCKS ", 1)"
#define SASSAY_LOCK_WINDOWS "pg_advisory_xact_lock(" SASSAY_LOCKS ", 2)"
#define SASSAY_SHARE_WINDOWS "pg_advisory_xact_lock_shared(" SASSAY_LOCKS ", 2)"
#define SASSAY_LOCK_DISPATCH "pg_advisory_xact_lock(" SASSAY_LOCKS ", 6)"
// Here the rows of submissions, sorted by id.
#define SASSAY_LOCK_RECORDS "pg_advisory_xact_lock(" SASSAY_LOCKS ", 3)"
#define SASSAY_LOCK_EXCLUSIONS "pg_advisory_xact_lock(" SASSAY_LOCKS ", 4)"

// Expire of blobs, and, together with each other, whoever makes one visible.
#define SASSAY_LOCK_BLOBS "pg_advisory_xact_lock(" SASSAY_LOCKS ", 5)"
#define SASSAY_SHARE_BLOBS "pg_advisory_xact_lock_shared(" SASSAY_LOCKS ", 5)"

#define SASSAY_LOCK_MIGRATION "pg_advisory_xact_lock(" SASSAY_LOCKS ", 9)"

#endif  // SASSAY_PROFILER_SERVICE_STORE_POSTGRES_LOCKS_H_
