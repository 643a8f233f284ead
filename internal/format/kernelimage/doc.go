// Package kernelimage finds the kernel, and its BTF, in the files that machines boot from.
//
// A file is unpacked layer by layer: a bzImage of x86 and an EFI zboot image (arm64, riscv,
// loongarch) have a compressed payload, of which their headers say where it is; other files are
// compressed as a whole, such as Image.gz and module.ko.xz. What is left in the end is an ELF file,
// raw BTF, or a flat image: the memory of the kernel without any headers of sections, as arm64,
// riscv and loongarch boot it. In that, BTF is found by its own header.
//
// Sources: the boot protocol of x86 (Documentation/arch/x86/boot.rst) and arch/x86/boot/header.S;
// drivers/firmware/efi/libstub/zboot-header.S; the headers of flat images
// (Documentation/arch/arm64/booting.rst, Documentation/arch/riscv/boot-image-header.rst,
// include/linux/pe.h); scripts/extract-vmlinux, scripts/Makefile.lib and scripts/xz_wrap.sh for how
// kernels are compressed.
//
// Input is untrusted: offsets and lengths are checked, and so are the number of layers and the size
// of each when it is decompressed.
package kernelimage
