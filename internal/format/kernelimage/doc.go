// Package kernelimage finds the kernel and its BTF in the files from which machines boot.
//
// A file is unpacked layer by layer. A bzImage of x86 and an EFI zboot image (arm64, riscv,
// loongarch) have a compressed payload; its offset and size are in the header. Other files, such as
// Image.gz and module.ko.xz, are compressed as a whole. The result is an ELF file, raw BTF, or a
// flat image. A flat image is the kernel's memory without section headers, as arm64, riscv and
// loongarch boot it; BTF is found in it by BTF's own header.
//
// Sources in the kernel's tree: for bzImages, Documentation/arch/x86/boot.rst (the boot protocol)
// and arch/x86/boot/header.S; for zboot images, drivers/firmware/efi/libstub/zboot-header.S; for
// flat images, Documentation/arch/arm64/booting.rst, Documentation/arch/riscv/boot-image-header.rst
// and include/linux/pe.h; for compression, scripts/extract-vmlinux, scripts/Makefile.lib and
// scripts/xz_wrap.sh.
//
// Input is untrusted: offsets and lengths are checked, and the number of layers and their
// decompressed sizes are limited.
package kernelimage
