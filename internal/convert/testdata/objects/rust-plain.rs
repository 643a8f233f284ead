// What a Rust unit with names that C could have says in DWARF: structs and unions with C's layout, enums without data,
// enums with data (variant parts), wide integers, pointers, functions that C can call.
#![no_std]
#[repr(C)]
pub struct Point { pub x: i32, pub y: i32, pub flags: u8, pub next: *mut Point }
#[repr(C)]
pub union Either { pub i: u32, pub f: f32 }
#[repr(u8)]
pub enum Colour { Red = 1, Green = 2, Blue = 200 }
pub enum Shape { Circle(u32), Rect { w: u16, h: u16 }, Nothing }
pub struct Wide { pub a: u128, pub b: i128, pub c: char, pub d: bool, pub e: usize, pub f: [u16; 3], pub g: extern "C" fn(u8) -> u8 }
pub mod inner { pub struct Nested { pub one: u64 } }
#[no_mangle]
pub extern "C" fn sum(p: &Point, e: Either) -> i32 { p.x + p.y + unsafe { e.i } as i32 }
#[no_mangle]
pub extern "C" fn colour(c: Colour, n: &inner::Nested) -> u8 { c as u8 + n.one as u8 }
#[no_mangle]
pub fn area(s: &Shape) -> u32 { match s { Shape::Circle(r) => 3 * r * r, Shape::Rect { w, h } => *w as u32 * *h as u32, Shape::Nothing => 0 } }
#[no_mangle]
pub fn wide(w: &Wide) -> u128 { w.a ^ w.b as u128 }
#[no_mangle]
pub fn never() -> ! { loop {} }
