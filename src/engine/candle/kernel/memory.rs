//! Memory of packed weights: whole pages, large ones where the system has them.
#![allow(unsafe_code, reason = "mapped bytes are read as f32")]

use memmap2::MmapMut;

/// Words of 32 bits, zero at first, beginning on a page. A model's weights are streamed once a decoding step, and with small pages a
/// fifth of that time goes into looking pages up.
#[derive(Debug)]
pub(super) struct Words {
    map: MmapMut,
}

impl Words {
    /// # Panics
    /// Where the system has no such memory, as any allocation ends the program.
    pub(super) fn zeros(len: usize) -> Words {
        let map = MmapMut::map_anon(len * size_of::<f32>()).expect("memory for packed weights");
        // A wish only: where it is not granted, small pages serve.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Words { map }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }

    pub(super) fn get(&self) -> &[f32] {
        // SAFETY: every pattern of 32 bits is an f32; `align_to` itself keeps to aligned whole words, here all of the map.
        unsafe { self.map.align_to().1 }
    }

    pub(super) fn get_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and every f32 is four valid bytes.
        unsafe { self.map.align_to_mut().1 }
    }
}
