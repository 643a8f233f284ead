package convert

import (
	std "debug/dwarf"
	"errors"
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// unencodable is the error for correct DWARF that BTF can't express.
type unencodable struct{ error }

func isUnencodable(err error) bool {
	var u *unencodable
	return errors.As(err, &u)
}

// unencodable returns an error that says what BTF can't express in the entry at offset off.
// Rule: what BTF can't express. Source: pahole dwarf_loader.c __tag__print_not_supported.
func (u *unit) unencodable(off uint32, format string, args ...any) error {
	root := &u.c.main.r.Root
	file, _ := u.c.main.r.String(root, dwarf.Name)
	flags := "--features=+skip_unencodable leaves such units out"
	if language := languageName(root); language != "" {
		flags = "--lang-exclude=" + language + " or " + flags
	}
	return &unencodable{u.r.Errorf(off, "unit %s: %s can't be expressed in BTF (%s)", file,
		fmt.Sprintf(format, args...), flags)}
}

// tagNames names the DWARF tags of the kinds of types that C lacks.
var tagNames = map[std.Tag]string{
	std.TagPtrToMemberType: "DW_TAG_ptr_to_member_type", std.TagStringType: "DW_TAG_string_type",
	std.TagSetType: "DW_TAG_set_type", std.TagFileType: "DW_TAG_file_type",
	std.TagInterfaceType: "DW_TAG_interface_type", std.TagSubrangeType: "DW_TAG_subrange_type",
	std.TagPackedType: "DW_TAG_packed_type", std.TagSharedType: "DW_TAG_shared_type",
	std.TagTemplateAlias: "DW_TAG_template_alias",
}

func tagName(t std.Tag) string {
	if s, ok := tagNames[t]; ok {
		return s
	}
	return fmt.Sprintf("an entry with tag %#x", uint32(t))
}
