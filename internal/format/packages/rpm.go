package packages

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cavaliergopher/cpio"
)

const (
	rpmMagic      = "\xed\xab\xee\xdb"
	rpmLead       = 96 // bytes before the first header
	headerMagic   = "\x8e\xad\xe8\x01"
	headerSize    = 16 // bytes: magic, reserved, the number of entries, the size of their values
	headerEntry   = 16
	strippedMagic = "07070X" // begins an archive whose paths and sizes are only in the headers
	cpioMagic     = "07070"  // begins any archive
)

func isRPM(data []byte) bool { return bytes.HasPrefix(data, []byte(rpmMagic)) }

// rpm reads the files of an RPM package. A lead, a header with signatures and a header with
// metadata come before the archive.
func (v *visitor) rpm(data []byte) error {
	signatures, err := headerEnd(data, rpmLead)
	if err != nil {
		return err
	}
	end, err := headerEnd(data, (signatures+7)/8*8)
	if err != nil {
		return err
	}
	if end == len(data) {
		return errors.New("RPM: no files after the headers; fetch the package again")
	}
	r, err := v.open(data[end:])
	if err != nil {
		return fmt.Errorf("RPM archive: %w", err)
	}
	defer r.Close()
	return v.cpio(r)
}

// headerEnd returns the offset of the end of the header that begins at an offset.
func headerEnd(data []byte, at int) (int, error) {
	if at > len(data) || len(data)-at < headerSize {
		return 0, fmt.Errorf("RPM: the header at offset %#x is truncated; fetch the package again", at)
	}
	h := data[at : at+headerSize]
	if string(h[:len(headerMagic)]) != headerMagic {
		return 0, fmt.Errorf("RPM: no header at offset %#x; fetch the package again", at)
	}
	size := headerSize + headerEntry*uint64(binary.BigEndian.Uint32(h[8:])) +
		uint64(binary.BigEndian.Uint32(h[12:]))
	if size > uint64(len(data)-at) {
		return 0, fmt.Errorf("RPM: the header at offset %#x has %d bytes, but only %d are left; "+
			"fetch the package again", at, size, len(data)-at)
	}
	return at + int(size), nil
}

func (v *visitor) cpio(in io.Reader) error {
	head := make([]byte, len(strippedMagic))
	if _, err := io.ReadFull(in, head); err != nil {
		return fmt.Errorf("RPM archive: %w", damaged(err))
	}
	if string(head) == strippedMagic {
		return errors.New("RPM archive: its form (stripped cpio) is not supported; unpack it first, " +
			"with rpm2archive")
	}
	if !bytes.HasPrefix(head, []byte(cpioMagic)) {
		return fmt.Errorf("RPM archive: damaged, or compressed in an unknown way (it starts with %q); "+
			"fetch the package again, or unpack it first, with rpm2archive", head)
	}
	names := hardLinks{v: v, of: map[int64]string{}}
	for r := cpio.NewReader(io.MultiReader(bytes.NewReader(head), in)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names.visit()
		}
		if err == nil && h.Size < 0 {
			err = cpio.ErrHeader
		}
		if err != nil {
			return fmt.Errorf("RPM archive: %w", damaged(err))
		}
		// All paths are absolute; most packages have a dot before them.
		name := strings.TrimPrefix(h.Name, "/")
		f := File{Name: name, Size: h.Size, Link: h.Linkname, Reader: r}
		switch mode := h.Mode & cpio.ModeType; {
		case mode == cpio.TypeDir:
			if _, err := inside(f.Name); err != nil {
				return err
			}
			continue
		case f.Link != "":
		case mode != cpio.TypeReg:
			f.Special = true
		case h.Links > 1 && h.Size == 0:
			names.without = append(names.without, hardLink{name, h.Inode})
			continue
		case h.Links > 1:
			names.of[h.Inode] = name
		}
		if err := v.file(f); err != nil {
			return err
		}
	}
}

// hardLinks are the files of a cpio archive that have several names. Only the last name of a file
// comes with the content.
type hardLinks struct {
	v       *visitor
	of      map[int64]string // the names with the content, by inode
	without []hardLink       // the other names, in the order of the archive
}

type hardLink struct {
	name  string
	inode int64
}

// visit visits the names without content. A file that has content under no name is empty.
func (l *hardLinks) visit() error {
	for _, x := range l.without {
		f := File{Name: x.name, Link: l.of[x.inode], Reader: strings.NewReader("")}
		f.Hard = f.Link != ""
		if err := l.v.file(f); err != nil {
			return err
		}
	}
	return nil
}
