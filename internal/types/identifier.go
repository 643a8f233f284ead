package types

// MaxName is the longest name that the kernel takes, in bytes (KSYM_NAME_LEN less the NUL).
const MaxName = 511

// inIdentifier is 1 for bytes that a C identifier has, and dots.
var inIdentifier = func() (in [256]uint8) {
	for c := range in {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '.'
		if letter || '0' <= c && c <= '9' {
			in[c] = 1
		}
	}
	return in
}()

// Identifier tells whether the kernel takes s as a name (btf_name_valid_identifier; C identifiers,
// and dots inside).
func Identifier(s []byte) bool {
	if len(s) > MaxName || len(s) > 0 && '0' <= s[0] && s[0] <= '9' {
		return false
	}
	in := &inIdentifier
	for ; len(s) >= 8; s = s[8:] {
		if in[s[0]]&in[s[1]]&in[s[2]]&in[s[3]]&in[s[4]]&in[s[5]]&in[s[6]]&in[s[7]] == 0 {
			return false
		}
	}
	for _, c := range s {
		if in[c] == 0 {
			return false
		}
	}
	return true
}
