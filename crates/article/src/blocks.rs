//! A page as a list of blocks, which are its paragraphs, items, cells and headings, each with what can be counted in
//! it; and sums of those over any part of the tree.

use crate::element::Element;
use crate::tree::Tree;

/// Text that no block boundary interrupts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Block {
    /// The first and the node behind the last text node.
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// The innermost block element it stands in.
    pub(crate) holder: u32,
    pub(crate) counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Bytes that are no white space: a character of Chinese weighs as much as half a word.
    pub(crate) bytes: u32,
    /// Those of them that stand in links.
    pub(crate) linked: u32,
    pub(crate) words: u32,
    /// Commas and what ends sentences.
    pub(crate) marks: u32,
    /// Those that stand in blocks that look like running text.
    pub(crate) running: u32,
}

/// Shorter blocks are running text only with a mark in them.
const SURELY_RUNNING: u32 = 80;
const MAYBE_RUNNING: u32 = 35;

impl Counts {
    fn add_text(&mut self, text: &str, linked: bool) {
        let bytes = text.as_bytes();
        let mut previous = b' ';
        let (mut count, mut words, mut marks) = (0, 0, 0);
        for (at, byte) in bytes.iter().enumerate() {
            if *byte <= b' ' {
                previous = b' ';
                continue;
            }
            count += 1;
            if previous == b' ' {
                words += 1;
            }
            previous = *byte;
            match byte {
                b',' | b'.' | b'!' | b'?' | b';' | b':' => marks += 1,
                0xe3 | 0xef | 0xd8 | 0xe0 => {
                    marks += u32::from(begins_mark(bytes.get(at..).unwrap_or_default()))
                }
                _ => {}
            }
        }
        self.bytes += count;
        self.words += words;
        self.marks += marks;
        if linked {
            self.linked += count;
        }
    }

    /// Whether this is a block of running text, as opposed to a heading, a button, a list of links.
    fn is_running(&self) -> bool {
        let plain = self.bytes.saturating_sub(self.linked);
        plain * 2 > self.bytes && (plain >= SURELY_RUNNING || (plain >= MAYBE_RUNNING && self.marks > 0))
    }

    /// 0 to 1.
    pub(crate) fn link_density(&self) -> f32 {
        if self.bytes == 0 { 0.0 } else { self.linked as f32 / self.bytes as f32 }
    }

    pub(crate) fn plus(self, other: Counts) -> Counts {
        Counts {
            bytes: self.bytes + other.bytes,
            linked: self.linked + other.linked,
            words: self.words + other.words,
            marks: self.marks + other.marks,
            running: self.running + other.running,
        }
    }

    fn minus(self, other: Counts) -> Counts {
        Counts {
            bytes: self.bytes.saturating_sub(other.bytes),
            linked: self.linked.saturating_sub(other.linked),
            words: self.words.saturating_sub(other.words),
            marks: self.marks.saturating_sub(other.marks),
            running: self.running.saturating_sub(other.running),
        }
    }
}

fn begins_mark(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [0xe3, 0x80, 0x81 | 0x82, ..]
            | [0xef, 0xbc, 0x81 | 0x8c | 0x8e | 0x9a | 0x9b | 0x9f, ..]
            | [0xd8, 0x8c | 0x9b | 0x9f, ..]
            | [0xe0, 0xa5, 0xa4, ..]
    )
}

/// The blocks of a page, without those in nodes that were dropped.
pub(crate) struct Blocks {
    pub(crate) all: Vec<Block>,
    /// The counts of all blocks before each block, and those of all.
    sums: Vec<Counts>,
}

impl Blocks {
    pub(crate) fn of(tree: &Tree<'_>, dropped: &[bool]) -> Blocks {
        let mut walk = Walk::default();
        let mut number = 0;
        while number < tree.len() {
            walk.leave(number);
            let element = tree.element(number);
            if element != Element::Text
                && (element.is_no_text() || dropped.get(number).copied().unwrap_or(false))
            {
                // An image or a button does not end a paragraph.
                if element.is_block() {
                    walk.flush();
                }
                number = tree.end(number);
                continue;
            }
            if element == Element::Text {
                if !dropped.get(number).copied().unwrap_or(false) {
                    walk.text(tree, number);
                }
            } else {
                walk.enter(element, number, tree.end(number));
            }
            number += 1;
        }
        walk.flush();
        let mut sums = Vec::with_capacity(walk.all.len() + 1);
        let mut sum = Counts::default();
        for block in &walk.all {
            sums.push(sum);
            sum = sum.plus(block.counts);
        }
        sums.push(sum);
        Blocks { all: walk.all, sums }
    }

    /// The numbers of the blocks that begin between two nodes.
    pub(crate) fn between(&self, first: usize, end: usize) -> std::ops::Range<usize> {
        let from = self.all.partition_point(|block| (block.first as usize) < first);
        let to = self.all.partition_point(|block| (block.first as usize) < end);
        from..to
    }

    /// The block that a node stands in or begins.
    pub(crate) fn around(&self, number: usize) -> Option<&Block> {
        let behind = self.all.partition_point(|block| (block.first as usize) < number);
        let before = behind.checked_sub(1).and_then(|at| self.all.get(at));
        before.filter(|block| block.end as usize > number).or_else(|| self.all.get(behind))
    }

    /// The counts of a node and all that is in it.
    pub(crate) fn within(&self, tree: &Tree<'_>, number: usize) -> Counts {
        self.sum(self.between(number, tree.end(number)))
    }

    pub(crate) fn sum(&self, range: std::ops::Range<usize>) -> Counts {
        let at = |number: usize| self.sums.get(number).copied().unwrap_or_default();
        at(range.end).minus(at(range.start))
    }

    pub(crate) fn total(&self) -> Counts {
        self.sums.last().copied().unwrap_or_default()
    }
}

#[derive(Default)]
struct Walk {
    all: Vec<Block>,
    current: Block,
    /// Ends of the open elements that matter, with whether they are blocks, and the number.
    open: Vec<(usize, bool, u32)>,
    links: Vec<usize>,
    breaks: u32,
}

impl Walk {
    fn flush(&mut self) {
        self.breaks = 0;
        let mut block = std::mem::take(&mut self.current);
        if block.counts.bytes > 0 {
            if block.counts.is_running() {
                block.counts.running = block.counts.bytes - block.counts.linked;
            }
            self.all.push(block);
        }
    }

    fn leave(&mut self, number: usize) {
        while self.links.last().is_some_and(|end| *end <= number) {
            self.links.pop();
        }
        while let Some((end, is_block, _)) = self.open.last().copied()
            && end <= number
        {
            self.open.pop();
            if is_block {
                self.flush();
            }
        }
    }

    fn enter(&mut self, element: Element, number: usize, end: usize) {
        if element.is_block() {
            self.flush();
            self.open.push((end, true, number as u32));
        } else if element == Element::A {
            self.links.push(end);
        } else if element == Element::Br {
            self.breaks += 1;
            if self.breaks > 1 {
                self.flush();
            }
        }
    }

    fn text(&mut self, tree: &Tree<'_>, number: usize) {
        let text = tree.text(number);
        let before = self.current.counts.bytes;
        let mut counts = self.current.counts;
        counts.add_text(text, !self.links.is_empty());
        if counts.bytes == before {
            return;
        }
        self.breaks = 0;
        if before == 0 {
            self.current.first = number as u32;
            self.current.holder = self.open.last().map_or(0, |(_, _, holder)| *holder);
        }
        self.current.end = number as u32 + 1;
        self.current.counts = counts;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(page: &str) -> Vec<(u32, u32)> {
        let tree = Tree::of(page);
        let blocks = Blocks::of(&tree, &vec![false; tree.len()]);
        blocks.all.iter().map(|block| (block.counts.bytes, block.counts.linked)).collect()
    }

    #[test]
    fn blocks_end_where_lines_do() {
        assert_eq!(blocks("<div>ab <b>c</b> d<p>e</p>f</div>"), [(4, 0), (1, 0), (1, 0)]);
        assert_eq!(blocks("a<br>b<br><br>c"), [(2, 0), (1, 0)]);
        assert_eq!(blocks("<p>ab <a href=x>cd</a></p><script>e</script>"), [(4, 2)]);
        assert_eq!(blocks("<p>a<select><option>b</select>c"), [(2, 0)]);
    }

    #[test]
    fn sums_are_those_of_the_blocks_in_a_node() {
        let tree = Tree::of("<div><p>one, two</p><p>three</p></div><p>four</p>");
        let blocks = Blocks::of(&tree, &vec![false; tree.len()]);
        assert_eq!(blocks.within(&tree, 1).bytes, 12);
        assert_eq!(blocks.within(&tree, 1).marks, 1);
        assert_eq!(blocks.total().bytes, 16);
        assert_eq!(blocks.total().words, 4);
    }
}
