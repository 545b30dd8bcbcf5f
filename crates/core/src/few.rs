//! A list that is nearly always short.

use alloc::vec::{self, Vec};
use core::{array, iter, slice};

/// A list that keeps up to four items without an allocation.
///
/// ```
/// use tollgate_core::Few;
/// let few: Few<u8> = (1..=5).collect();
/// assert!(few.iter().eq(&[1, 2, 3, 4, 5]));
/// let gaps = Few::up_to_four([Some('a'), None, Some('b'), None]);
/// assert_eq!(gaps.into_iter().collect::<String>(), "ab");
/// ```
#[derive(Debug)]
pub struct Few<T>(Held<T>);

#[derive(Debug)]
enum Held<T> {
    // Apart from `Four`, so that the commonest decision writes one answer and no empty places.
    One(T),
    Four([Option<T>; 4]),
    More(Vec<T>),
}

impl<T> Few<T> {
    /// A list of one.
    #[inline]
    #[must_use]
    pub const fn one(item: T) -> Few<T> {
        Few(Held::One(item))
    }

    /// A list of those of four places that are taken.
    #[inline]
    #[must_use]
    pub const fn up_to_four(items: [Option<T>; 4]) -> Few<T> {
        Few(Held::Four(items))
    }

    /// The items in order.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        let (four, whole): (&[Option<T>], &[T]) = match &self.0 {
            Held::One(item) => (&[], slice::from_ref(item)),
            Held::Four(items) => (items, &[]),
            Held::More(items) => (&[], items),
        };
        four.iter().flatten().chain(whole)
    }

    /// The items in order, to be changed.
    #[inline]
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (four, whole): (&mut [Option<T>], &mut [T]) = match &mut self.0 {
            Held::One(item) => (&mut [], slice::from_mut(item)),
            Held::Four(items) => (items, &mut []),
            Held::More(items) => (&mut [], items),
        };
        four.iter_mut().flatten().chain(whole)
    }
}

impl<T> FromIterator<T> for Few<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Few<T> {
        let mut items = items.into_iter();
        let four = [(); 4].map(|()| items.next());
        match items.next() {
            None => Few(Held::Four(four)),
            Some(fifth) => {
                let first = four.into_iter().flatten();
                Few(Held::More(first.chain(iter::once(fifth)).chain(items).collect()))
            }
        }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = iter::Chain<iter::Flatten<array::IntoIter<Option<T>, 4>>, vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        let (four, more) = match self.0 {
            Held::One(item) => ([Some(item), None, None, None], Vec::new()),
            Held::Four(items) => (items, Vec::new()),
            Held::More(items) => ([const { None }; 4], items),
        };
        four.into_iter().flatten().chain(more)
    }
}
