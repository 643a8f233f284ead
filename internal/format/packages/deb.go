package packages

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const (
	arMagic    = "!<arch>\n"
	arHeader   = 60 // bytes: name 16, date 12, uid 6, gid 6, mode 8, size 10 (decimal), end mark 2
	debVersion = "debian-binary"
	debData    = "data.tar"
)

func isDeb(data []byte) bool {
	return bytes.HasPrefix(data, []byte(arMagic)) &&
		bytes.HasPrefix(data[len(arMagic):], []byte(debVersion))
}

// deb reads the files of a Debian package, which are in its member data.tar, data.tar.xz and so on.
func (v *visitor) deb(data []byte) error {
	for at := len(arMagic); at < len(data); {
		if len(data)-at < arHeader {
			return fmt.Errorf("ar archive: the header at offset %#x is truncated; fetch the package again",
				at)
		}
		h := data[at : at+arHeader]
		name := strings.TrimSuffix(strings.TrimRight(string(h[:16]), " "), "/")
		size, err := strconv.ParseUint(strings.TrimRight(string(h[48:58]), " "), 10, 63)
		if err != nil || string(h[58:]) != "`\n" {
			return fmt.Errorf("ar archive: no header at offset %#x; fetch the package again", at)
		}
		at += arHeader
		if size > uint64(len(data)-at) {
			return fmt.Errorf("%s has %d bytes, but only %d are left; fetch the package again", name, size,
				len(data)-at)
		}
		content := data[at : at+int(size)]
		if strings.HasPrefix(name, debData) {
			if err := v.packedTar(content); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		}
		at += int(size) + int(size&1)
	}
	return errors.New("the package has no " + debData + again)
}
