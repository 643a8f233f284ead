package embed

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// A signed module ends with the signature, a struct module_signature, and this text
// (MODULE_SIG_STRING). The last field of the struct is the length of the signature in bytes,
// big-endian on all machines.
const (
	signatureMagic      = "~Module signature appended~\n"
	signatureHeaderSize = 12
)

// Unsigned returns f if it has no module signature. If f has one, Unsigned returns the file without
// the signature if the parameter drop is set; otherwise it returns an error, because a change would
// invalidate the signature. The result refers to f, which must stay open.
// Rule: signed modules, --drop-signature. Source: kernel/module/signing.c module_sig_check,
// kernel/module_signature.c.
func Unsigned(f *elf.File, drop bool) (*elf.File, error) {
	data := f.Bytes()
	if !bytes.HasSuffix(data, []byte(signatureMagic)) {
		return f, nil
	}
	if !drop {
		return nil, fmt.Errorf("%s: the kernel module is signed, and a change would invalidate the "+
			"signature; use the unsigned module, or remove the signature with --drop-signature", f.Path)
	}
	data = data[:len(data)-len(signatureMagic)]
	if len(data) < signatureHeaderSize {
		return nil, fmt.Errorf("%s: the module signature is truncated; build or copy the file again",
			f.Path)
	}
	size := int64(binary.BigEndian.Uint32(data[len(data)-4:]))
	data = data[:len(data)-signatureHeaderSize]
	if size > int64(len(data)) {
		return nil, fmt.Errorf("%s: the module signature should have %d bytes, but only %d are left; "+
			"build or copy the file again", f.Path, size, len(data))
	}
	module, err := elf.Parse(f.Path, data[:int64(len(data))-size])
	if err != nil {
		return nil, fmt.Errorf("%w (without its signature)", err)
	}
	return Unsigned(module, drop) // some build systems sign twice
}
