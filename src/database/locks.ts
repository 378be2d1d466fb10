/** The keys of advisory locks, which are one set of numbers in a database. */

/** Held while the schema is changed: one process migrates at a time. */
export const MIGRATION_LOCK = 4_155_927_201n;

/** Held by who writes the feed, from the numbering of its rows until they are committed. */
export const FEED_LOCK = 0x646d73_66656564n;
