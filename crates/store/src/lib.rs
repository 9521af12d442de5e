//! Pages in, catalogue and archive out: the ports, the WARC codec, exports.
