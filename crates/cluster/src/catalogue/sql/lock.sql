-- From here to the end one writer at a time: what is committed later has larger numbers.
SELECT FROM catalogue_clock FOR UPDATE;
