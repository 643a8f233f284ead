package elf

import "bytes"

// ModuleInfo returns the value of a field that a kernel module has in its section .modinfo, such as
// "name" or "vermagic", or "" if there is none.
func (f *File) ModuleInfo(field string) string {
	info := f.Section(".modinfo")
	if info == nil {
		return ""
	}
	for line := range bytes.SplitSeq(info.raw, []byte{0}) {
		if name, value, _ := bytes.Cut(line, []byte{'='}); string(name) == field {
			return string(value)
		}
	}
	return ""
}

// maxRelease is the maximum length of a release in bytes (__NEW_UTS_LEN).
const maxRelease = 64

// KernelRelease returns the release of the kernel that a module was built for, or the release of a
// kernel, as uname -r prints it. It returns "" if the file doesn't say. A module's release is the
// first word of its vermagic (VERMAGIC_STRING in include/linux/vermagic.h). A kernel's release is
// in its banner (init/version.c).
// Rule: release of a kernel or module, from its file.
func (f *File) KernelRelease() string {
	if magic := f.ModuleInfo("vermagic"); magic != "" {
		return releaseAt([]byte(magic))
	}
	text := f.Section(".rodata")
	if text == nil || f.Relocatable() {
		return ""
	}
	return BannerRelease(text.raw)
}

// BannerRelease returns the release in the kernel's banner, which is somewhere in data, or "" if
// there is no banner: "Linux version 7.2.12 (builder@host) …".
func BannerRelease(data []byte) string {
	banner := []byte("Linux version ")
	for {
		at := bytes.Index(data, banner)
		if at < 0 {
			return ""
		}
		data = data[at+len(banner):]
		release := releaseAt(data)
		if release != "" && bytes.HasPrefix(data[len(release):], []byte(" (")) {
			return release
		}
	}
}

// releaseAt returns the release at the start of text, or "" if text starts with something else.
func releaseAt(text []byte) string {
	word, _, ok := bytes.Cut(text[:min(len(text), maxRelease+1)], []byte{' '})
	if !ok || len(word) == 0 || word[0] < '0' || word[0] > '9' {
		return ""
	}
	for _, c := range word {
		if c < ' ' || c > '~' {
			return ""
		}
	}
	return string(word)
}
