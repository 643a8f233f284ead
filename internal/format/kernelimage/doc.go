// Package kernelimage finds the kernel and its BTF in the files from which machines boot.
//
// A file is unpacked layer by layer. An x86 bzImage and an EFI zboot image (arm64, riscv,
// loongarch) have a compressed payload; its offset and size are in the header. Other files, such as
// Image.gz and module.ko.xz, are compressed as a whole. The result is an ELF file, raw BTF, or a
// flat image. A flat image is what arm64, riscv and loongarch boot: the kernel as it is in memory,
// without section headers. In a flat image, the BTF is found by a search for the BTF's header.
//
// Sources in the kernel tree: for bzImages, Documentation/arch/x86/boot.rst (the boot protocol)
// and arch/x86/boot/header.S; for zboot images, drivers/firmware/efi/libstub/zboot-header.S; for
// flat images, Documentation/arch/arm64/booting.rst, Documentation/arch/riscv/boot-image-header.rst
// and include/linux/pe.h; for compression, scripts/extract-vmlinux, scripts/Makefile.lib and
// scripts/xz_wrap.sh.
//
// Input is untrusted: offsets and lengths are checked, and the number of layers and their
// decompressed sizes are limited.
package kernelimage
