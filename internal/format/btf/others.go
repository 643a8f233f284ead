package btf

import "bytes"

// others lists kinds of files that people pass by mistake: their first bytes, and what to do.
var others = []struct{ start, what string }{
	{"MZ", "a kernel image; extract its BTF with btfdedup import"},
	{"\x1f\x8b", "compressed with gzip; decompress it or use btfdedup import"},
	{"\xfd7zXZ\x00", "compressed with xz; decompress it or use btfdedup import"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it or use btfdedup import"},
	{"\x7fELF", "an ELF file where raw BTF is expected; pass the ELF file itself"},
	{"!<arch>\ndebian-binary", "a Debian package; unpack it, or check it with btfdedup verify"},
	{"\xed\xab\xee\xdb", "an RPM package; unpack it, or check it with btfdedup verify"},
	{"!<arch>\n", "an archive; convert it with btfgen object"},
	{"!<thin>\n", "an archive; convert it with btfgen object"},
	{"btffacts ", "a facts file; pass it to btfdedup link with --facts"},
	{"BC\xc0\xde", "LLVM bitcode, which has no BTF; convert the linked file"},
}

// bootHeader is the offset of an x86 kernel's magic number (Documentation/arch/x86/boot.rst).
const bootHeader = 0x202

// kindOfFile describes data that is not BTF. It returns "" if the format is unknown.
func kindOfFile(data []byte) string {
	for _, o := range others {
		if bytes.HasPrefix(data, []byte(o.start)) {
			return o.what
		}
	}
	if len(data) > bootHeader && bytes.HasPrefix(data[bootHeader:], []byte("HdrS")) {
		return others[0].what
	}
	return ""
}
