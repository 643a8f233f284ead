// A Rust unit with types whose names no kernel takes.
#![no_std]
#[no_mangle]
pub fn maybe(o: Option<u32>) -> (u32, bool) { (o.unwrap_or(3), o.is_some()) }
