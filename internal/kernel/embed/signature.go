package embed

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// The end of a signed module: the signature, a struct module_signature of the kernel, whose last
// field is the length of the signature in bytes, big-endian on every machine, and this text
// (MODULE_SIG_STRING).
const (
	signatureMagic      = "~Module signature appended~\n"
	signatureHeaderSize = 12
)

// Unsigned returns f if it has no module signature. Otherwise it returns the file without the
// signature if drop is set, and else an error: the signature would no longer hold. The result
// refers to f, which must stay open.
func Unsigned(f *elf.File, drop bool) (*elf.File, error) {
	data := f.Bytes()
	if !bytes.HasSuffix(data, []byte(signatureMagic)) {
		return f, nil
	}
	if !drop {
		return nil, fmt.Errorf("%s: signed kernel module, whose signature would no longer hold; take "+
			"the module as it was before signing, or cut the signature off with --drop-signature", f.Path)
	}
	data = data[:len(data)-len(signatureMagic)]
	if len(data) < signatureHeaderSize {
		return nil, fmt.Errorf("%s: the module signature is truncated", f.Path)
	}
	size := int64(binary.BigEndian.Uint32(data[len(data)-4:]))
	data = data[:len(data)-signatureHeaderSize]
	if size > int64(len(data)) {
		return nil, fmt.Errorf("%s: the module signature claims %d bytes, but only %d precede it; "+
			"is the file damaged?", f.Path, size, len(data))
	}
	module, err := elf.Parse(f.Path, data[:int64(len(data))-size])
	if err != nil {
		return nil, fmt.Errorf("%w (without its signature)", err)
	}
	return Unsigned(module, drop) // some build systems sign twice
}
