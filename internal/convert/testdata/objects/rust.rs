// A Rust unit with what BTF can't say as it is: names that are no identifiers, types without a size
// of their own, and methods that are called like functions of C.
#![no_std]
use core::marker::PhantomData;

pub struct Text([u8]);
pub struct Marked<T> {
    pub value: u32,
    pub unit: (),
    pub marker: PhantomData<T>,
}
pub struct List<T: 'static> {
    pub next: Option<&'static List<T>>,
    pub value: T,
}
pub struct AVeryLongNameOfAType<A, B>(A, B);
type Twice<T> = AVeryLongNameOfAType<T, T>;
type Many = Twice<Twice<Twice<Twice<Twice<u8>>>>>;

impl Text {
    #[inline(never)]
    pub fn strlen(&self) -> usize { self.0.len() }
}
#[no_mangle]
pub fn maybe(o: Option<u32>) -> (u32, bool) { (o.unwrap_or(3), o.is_some()) }
#[no_mangle]
pub fn length(t: &Text) -> usize { t.strlen() }
#[no_mangle]
pub fn marked(m: &Marked<Text2<'static>>, l: &List<u16>, many: &Many) -> u32 {
    m.value + l.value as u32 + many.0 .0 .0 .0 .0 as u32
}
pub struct Text2<'a>(pub &'a str);
