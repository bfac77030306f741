//! `alloc`: collections, strings, shared ownership.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, BinaryHeap, LinkedList, VecDeque};
use alloc::rc::{Rc, Weak};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cell::RefCell;
use core::cmp::Reverse;

use crate::support::{digest, pack};

subject! {
    heap: true;
    /// Growth, insertion and removal.
    fn vec_edits(input: &[u64; 32], output: &mut [u64; 3]) {
        let mut values = Vec::new();
        for x in input {
            match x % 6 {
                0 => values.insert((x >> 8) as usize % (values.len() + 1), *x),
                1 if !values.is_empty() => {
                    values.remove((x >> 8) as usize % values.len());
                }
                2 if !values.is_empty() => {
                    values.swap_remove((x >> 8) as usize % values.len());
                }
                3 => values.extend_from_slice(&[*x, 1]),
                4 => values.truncate(20),
                _ => values.push(!x),
            }
        }
        *output = [
            values.len() as u64,
            digest(values.iter().copied()),
            values.pop().unwrap_or(4),
        ];
    }
}

subject! {
    heap: true;
    /// `retain`, `dedup`, `drain`, `splice`, `split_off`, `append`, `extract_if`-like loops.
    fn vec_bulk(input: &[u64; 32], output: &mut [u64; 5]) {
        let mut values = input.map(|x| x % 9).to_vec();
        values.dedup();
        output[0] = digest(values.iter().copied());
        values.retain(|x| *x != 4);
        output[1] = values.len() as u64;
        let end = values.len() / 2;
        output[2] = digest(values.drain(end / 2..end));
        let mut tail = values.split_off(values.len() / 2);
        let removed: Vec<u64> = tail.splice(..tail.len().min(2), input[..3].iter().copied()).collect();
        output[3] = digest(removed);
        values.append(&mut tail);
        values.retain_mut(|x| {
            *x = x.wrapping_mul(3);
            *x % 5 != 0
        });
        output[4] = digest(values);
    }
}

subject! {
    heap: true;
    /// Sort in a Vec, stable, of structs with a heap part.
    fn vec_sort_strings(input: &[u64; 24], output: &mut [u64; 24]) {
        let mut names: Vec<(String, usize)> = input
            .iter()
            .enumerate()
            .map(|(i, x)| (format!("{:x}", x % 50), i))
            .collect();
        names.sort_by(|a, b| a.0.len().cmp(&b.0.len()).then_with(|| a.0.cmp(&b.0)));
        for (out, (name, i)) in output.iter_mut().zip(&names) {
            *out = digest(name.bytes().map(u64::from)) ^ *i as u64;
        }
    }
}

subject! {
    heap: true;
    /// `collect` into Vec, String, Option, Result; `partition` and `unzip`.
    fn collects(input: &[u64; 24], output: &mut [u64; 6]) {
        let (even, odd): (Vec<u64>, Vec<u64>) = input.iter().partition(|x| **x % 2 == 0);
        let (low, high): (Vec<u8>, Vec<u32>) = input.iter().map(|x| (*x as u8, (x >> 32) as u32)).unzip();
        let text: String = low.iter().map(|x| char::from(x % 26 + b'a')).rev().collect();
        let option: Option<Vec<u64>> = input[..8].iter().map(|x| x.checked_add(1 << 62)).collect();
        let result: Result<Vec<u8>, usize> = input[..3]
            .iter()
            .enumerate()
            .map(|(i, x)| u8::try_from(*x).map_err(|_| i))
            .collect();
        *output = [
            digest(even) ^ odd.len() as u64,
            high.iter().map(|x| u64::from(*x)).sum(),
            digest(text.bytes().map(u64::from)),
            option.map_or(3, digest),
            result.map_or_else(|i| i as u64, |bytes| 100 + bytes.len() as u64),
            digest(odd),
        ];
    }
}

subject! {
    heap: true;
    /// A String that is edited: push, insert, remove, replace, repeat, pop.
    fn string_edits(input: &[u64; 16], output: &mut [u64; 30]) {
        let mut text = String::from("start");
        for x in input {
            match x % 7 {
                0 => text.push(char::from_u32((x >> 8) as u32 % 0x3000).unwrap_or('!')),
                1 => text.push_str("ab"),
                2 => text.insert_str(0, "<é>"),
                3 => text = text.replace("ab", "c"),
                4 => drop(text.pop()),
                5 => text.insert(text.len(), '-'),
                _ => text.retain(|c| c != '<'),
            }
        }
        pack(text.as_bytes(), &mut output[..29]);
        output[29] = text
            .repeat(2)
            .chars()
            .rev()
            .map(u64::from)
            .fold(0, |a, b| a.wrapping_mul(31) ^ b);
    }
}

subject! {
    heap: true;
    /// `format!` and `to_string`, joined.
    fn format_strings(input: &[u64; 8], output: &mut [u64; 40]) {
        let parts: Vec<String> = input
            .iter()
            .enumerate()
            .map(|(i, x)| format!("{i}:{:>6x}", x % 100_000))
            .collect();
        let text = parts.join(", ") + &input[0].to_string() + &(input[1] as i8).to_string();
        pack(text.as_bytes(), output);
    }
}

subject! {
    heap: true;
    /// Boxes: of arrays, slices, recursive enums.
    fn boxed_tree(input: &[u64; 24], output: &mut [u64; 3]) {
        enum Tree {
            Leaf,
            Node(Box<Tree>, u64, Box<Tree>),
        }
        fn insert(tree: Tree, x: u64) -> Tree {
            match tree {
                Tree::Leaf => Tree::Node(Box::new(Tree::Leaf), x, Box::new(Tree::Leaf)),
                Tree::Node(left, y, right) if x < y => Tree::Node(Box::new(insert(*left, x)), y, right),
                Tree::Node(left, y, right) => Tree::Node(left, y, Box::new(insert(*right, x))),
            }
        }
        fn fold(tree: &Tree, depth: u64, f: &mut dyn FnMut(u64, u64)) {
            if let Tree::Node(left, x, right) = tree {
                fold(left, depth + 1, f);
                f(*x, depth);
                fold(right, depth + 1, f);
            }
        }
        let tree = input.iter().fold(Tree::Leaf, |tree, x| insert(tree, x.swap_bytes()));
        let (mut sum, mut deepest) = (0u64, 0);
        fold(&tree, 1, &mut |x, depth| {
            sum = sum.rotate_left(3) ^ x.wrapping_mul(depth);
            deepest = deepest.max(depth);
        });
        let slice: Box<[u64]> = vec![sum; 3].into_boxed_slice();
        *output = [sum, deepest, digest(slice)];
    }
}

subject! {
    heap: true;
    /// `Box<dyn Trait>` and `Box<dyn Fn>` in a Vec.
    fn boxed_dyn(input: &[u64; 16], output: &mut [u64; 16]) {
        let mut steps: Vec<Box<dyn FnMut(u64) -> u64>> = Vec::new();
        for x in *input {
            steps.push(match x % 3 {
                0 => Box::new(move |y| x ^ y),
                1 => Box::new(u64::reverse_bits),
                _ => {
                    let mut calls = x;
                    Box::new(move |y| {
                        calls = calls.wrapping_add(1);
                        y.wrapping_mul(calls)
                    })
                }
            });
        }
        for (k, out) in output.iter_mut().enumerate() {
            *out = steps.iter_mut().skip(k % 5).fold(k as u64, |x, step| step(x));
        }
    }
}

subject! {
    heap: true;
    /// `Rc` and `Weak`: counts, unique access, cycles that are cut.
    fn reference_counts(input: &[u64; 12], output: &mut [u64; 12]) {
        let mut kept: Vec<Rc<u64>> = Vec::new();
        let mut weak: Weak<u64> = Weak::new();
        for (out, x) in output.iter_mut().zip(input) {
            match x % 4 {
                0 => kept.push(Rc::new(*x)),
                1 => kept.extend(kept.last().cloned()),
                2 => weak = kept.first().map_or_else(Weak::new, Rc::downgrade),
                _ => drop(kept.pop()),
            }
            if let Some(last) = kept.last_mut().and_then(Rc::get_mut) {
                *last ^= 1;
            }
            let count = kept.last().map_or(0, |last| Rc::strong_count(last) as u64);
            *out = count << 56 ^ kept.last().map_or(7, |x| **x) ^ weak.upgrade().map_or(3, |x| *x) << 1;
        }
    }
}

subject! {
    heap: true;
    /// A graph of `Rc<RefCell>` nodes, walked breadth first.
    fn graph(input: &[u64; 16], output: &mut [u64; 17]) {
        struct Node {
            value: u64,
            seen: Option<u32>,
            edges: Vec<Rc<RefCell<Node>>>,
        }
        let nodes: Vec<_> = input
            .iter()
            .map(|x| {
                Rc::new(RefCell::new(Node {
                    value: *x,
                    seen: None,
                    edges: vec![],
                }))
            })
            .collect();
        for (i, x) in input.iter().enumerate() {
            for shift in [0, 8, 16] {
                let target = &nodes[(x >> shift) as usize % 16];
                if !Rc::ptr_eq(target, &nodes[i]) {
                    nodes[i].borrow_mut().edges.push(Rc::clone(target));
                }
            }
        }
        let mut queue = VecDeque::from([(Rc::clone(&nodes[0]), 0)]);
        let mut order = 1u64;
        while let Some((node, distance)) = queue.pop_front() {
            let mut node = node.borrow_mut();
            if node.seen.is_none() {
                node.seen = Some(distance);
                order = order.wrapping_mul(31) ^ node.value;
                queue.extend(node.edges.iter().map(|edge| (Rc::clone(edge), distance + 1)));
            }
        }
        for (out, node) in output.iter_mut().zip(&nodes) {
            let mut node = node.borrow_mut();
            *out = node.seen.map_or(99, u64::from);
            // Cuts the cycles, so that all is freed.
            node.edges.clear();
        }
        output[16] = order;
    }
}

subject! {
    stack_bytes: 8 << 10, heap: true;
    /// `BTreeMap`: enough entries for inner nodes, removals that merge nodes, ranges, entries.
    fn btree_map(input: &[u64; 96], output: &mut [u64; 7]) {
        let mut map = BTreeMap::new();
        for (i, x) in input.iter().enumerate() {
            *map.entry(x % 101).or_insert(0u64) += i as u64;
        }
        output[0] = map.len() as u64;
        output[1] = digest(map.iter().map(|(k, v)| k << 32 | v));
        output[2] = map
            .range(20..60)
            .rev()
            .fold(0, |sum, (k, v)| sum.rotate_left(1) ^ k ^ v);
        for x in &input[..64] {
            map.remove(&(x % 101));
        }
        output[3] = digest(map.keys().copied());
        output[4] = map.first_key_value().map_or(7, |(k, v)| k ^ v);
        let upper = map.split_off(&50);
        output[5] = digest(upper.into_values());
        map.retain(|k, v| (*k + *v) % 3 != 0);
        output[6] = digest(map.into_iter().map(|(k, v)| k * v));
    }
}

subject! {
    stack_bytes: 8 << 10, heap: true;
    /// `BTreeSet`: unions, differences, order.
    fn btree_set(input: &[u64; 48], output: &mut [u64; 5]) {
        let a: BTreeSet<u64> = input[..24].iter().map(|x| x % 40).collect();
        let b: BTreeSet<u64> = input[24..].iter().map(|x| x % 40).collect();
        *output = [
            digest(a.union(&b).copied()),
            digest(a.intersection(&b).copied()),
            digest(a.difference(&b).copied()),
            digest((&a ^ &b).into_iter().rev()),
            u64::from(a.is_subset(&b))
                ^ a.range(10..).next().copied().unwrap_or(77)
                ^ b.last().copied().unwrap_or(5) << 8,
        ];
    }
}

subject! {
    heap: true;
    /// `BTreeMap` of strings and vectors.
    fn btree_map_of_strings(input: &[u64; 24], output: &mut [u64; 3]) {
        let mut map: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, x) in input.iter().enumerate() {
            map.entry(format!("k{}", x % 10)).or_default().push(i);
        }
        let longest = map.iter().max_by_key(|(_, places)| places.len());
        *output = [
            digest(
                map.iter()
                    .flat_map(|(name, places)| name.bytes().map(u64::from).chain(places.iter().map(|i| *i as u64))),
            ),
            longest.map_or(1, |(name, places)| (name.len() * 100 + places.len()) as u64),
            map.get("k3").map_or(0, |places| places.len() as u64)
                ^ map.remove("k7").map_or(1, |places| places[0] as u64) << 8,
        ];
    }
}

subject! {
    heap: true;
    /// `VecDeque`: both ends, rotation, ranges that wrap.
    fn vec_deque(input: &[u64; 40], output: &mut [u64; 4]) {
        let mut queue = VecDeque::with_capacity(4);
        let mut sum = 0u64;
        for x in input {
            match x % 6 {
                0 | 1 => queue.push_back(*x),
                2 | 3 => queue.push_front(*x),
                4 => sum = sum.rotate_left(1) ^ queue.pop_front().unwrap_or(1),
                _ => sum = sum.rotate_left(1) ^ queue.pop_back().unwrap_or(2),
            }
            let len = queue.len();
            queue.rotate_left((x >> 8) as usize % (len + 1));
        }
        let half = queue.len() / 2;
        *output = [
            sum,
            digest(queue.iter().rev().copied()),
            digest(queue.range(..half).copied()),
            0,
        ];
        queue.make_contiguous().sort_unstable();
        output[3] = digest(queue);
    }
}

subject! {
    heap: true;
    /// `BinaryHeap`: the largest and, by `Reverse`, the smallest first.
    fn binary_heap(input: &[u64; 32], output: &mut [u64; 32]) {
        let mut largest = BinaryHeap::from(input[..16].to_vec());
        let mut smallest: BinaryHeap<Reverse<(u8, u64)>> =
            input[16..].iter().map(|x| Reverse((*x as u8, *x))).collect();
        for k in 0..16 {
            output[k] = largest.pop().unwrap_or(0);
            if k % 4 == 1 {
                largest.push(input[k] / 3);
            }
            if let Some(mut top) = largest.peek_mut() {
                *top = top.rotate_right(1);
            }
            output[16 + k] = smallest.pop().map_or(0, |Reverse((key, x))| x ^ u64::from(key));
        }
    }
}

subject! {
    heap: true;
    /// Shortest paths by Dijkstra's algorithm over a heap and a matrix.
    fn dijkstra(input: &[u64; 64], output: &mut [u64; 8]) {
        let weight = |i: usize, k: usize| 1 + (input[8 * i + k] >> 7) % 1000;
        *output = [u64::MAX; 8];
        output[0] = 0;
        let mut queue = BinaryHeap::from([(Reverse(0), 0usize)]);
        while let Some((Reverse(distance), node)) = queue.pop() {
            if distance > output[node] {
                continue;
            }
            for next in 0..8 {
                let through = distance + weight(node, next);
                if through < output[next] {
                    output[next] = through;
                    queue.push((Reverse(through), next));
                }
            }
        }
    }
}

subject! {
    heap: true;
    /// `LinkedList`: both ends, split, append.
    fn linked_list(input: &[u64; 24], output: &mut [u64; 3]) {
        let mut list = LinkedList::new();
        for x in input {
            match x % 4 {
                0 => list.push_front(*x),
                1 => list.push_back(*x),
                2 => list.push_back(list.front().copied().unwrap_or(3)),
                _ => drop(list.pop_front()),
            }
        }
        let mut tail = list.split_off(list.len() / 2);
        tail.iter_mut().for_each(|x| *x = x.wrapping_mul(5));
        output[0] = digest(tail.iter().rev().copied());
        tail.append(&mut list);
        *output = [output[0], tail.len() as u64, digest(tail)];
    }
}

subject! {
    heap: true;
    /// `Cow` of slices and strings: owned only where it changes.
    fn cow(input: &[u64; 12], output: &mut [u64; 12]) {
        fn clamp(values: &[u64], limit: u64) -> Cow<'_, [u64]> {
            let mut values = Cow::Borrowed(values);
            for i in 0..values.len() {
                if values[i] > limit {
                    values.to_mut()[i] = limit;
                }
            }
            values
        }
        *output = core::array::from_fn(|k| {
            let values = clamp(&input[..k + 1], input[k].max(1 << 20));
            let owned = matches!(values, Cow::Owned(_));
            let text = String::from_utf8_lossy(&[b'a', input[k] as u8, b'z']).into_owned();
            digest(values.iter().copied()) ^ u64::from(owned) ^ digest(text.bytes().map(u64::from)) << 1
        });
    }
}

subject! {
    heap: true;
    /// `Box<dyn Any>`, downcast by value.
    fn boxed_any(input: &[u64; 16], output: &mut [u64; 16]) {
        use core::any::Any;
        let values: Vec<Box<dyn Any>> = input
            .iter()
            .map(|x| -> Box<dyn Any> {
                match x % 3 {
                    0 => Box::new(*x),
                    1 => Box::new(x.to_string()),
                    _ => Box::new([*x as u16; 3]),
                }
            })
            .collect();
        for (out, value) in output.iter_mut().zip(values) {
            *out = match value.downcast::<String>() {
                Ok(text) => text.len() as u64,
                Err(value) => match value.downcast::<u64>() {
                    Ok(x) => *x >> 1,
                    Err(value) => value.downcast_ref::<[u16; 3]>().map_or(5, |x| u64::from(x[2]) + 100),
                },
            };
        }
    }
}

subject! {
    heap: true;
    /// A Vec of Vecs: a triangle, transposed, with memory that is given back in another order.
    fn vec_of_vecs(input: &[u64; 12], output: &mut [u64; 13]) {
        let mut rows: Vec<Vec<u64>> = (0..12).map(|i| input[..i + 1].to_vec()).collect();
        rows.sort_by_key(|row| Reverse(row[row.len() - 1] % 8));
        rows.reserve(9);
        let columns: Vec<Vec<u64>> = (0..12)
            .map(|k| rows.iter().filter_map(|row| row.get(k).copied()).collect())
            .collect();
        for (out, column) in output.iter_mut().zip(&columns) {
            *out = digest(column.iter().copied());
        }
        drop(rows);
        output[12] = digest(columns.concat());
    }
}
