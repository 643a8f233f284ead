package btf

import "bytes"

// others are kinds of files that are passed as BTF by mistake: how they begin, and what to do.
var others = []struct{ start, what string }{
	{"MZ", "a kernel image; take its BTF with btfdedup import"},
	{"\x1f\x8b", "compressed with gzip; take its BTF with btfdedup import, or decompress it"},
	{"\xfd7zXZ\x00", "compressed with xz; take its BTF with btfdedup import, or decompress it"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd; take its BTF with btfdedup import, or decompress it"},
	{"\x7fELF", "an ELF file within something else; give the ELF file itself"},
	{"!<arch>\n", "an archive; convert it with btfgen object"},
	{"!<thin>\n", "an archive; convert it with btfgen object"},
	{"btffacts ", "a facts file, which links take as --facts"},
	{"BC\xc0\xde", "LLVM bitcode, which has no BTF; convert what is linked of it"},
}

// bootHeader is where the image of an x86 kernel says what it is (Documentation/arch/x86/boot.rst).
const bootHeader = 0x202

// kindOfFile says what data that is not BTF is, "" if that is unknown.
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
