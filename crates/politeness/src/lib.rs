//! robots.txt and its rules, delays, retries, breakers, time windows: pure, time passed in.
