package types

// MaxName is the longest name that the kernel takes, in bytes (KSYM_NAME_LEN less the NUL).
const MaxName = 511

// inIdentifier tells which bytes a C identifier has, and dots.
var inIdentifier = func() (in [256]bool) {
	for c := range in {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '.'
		in[c] = letter || '0' <= c && c <= '9'
	}
	return in
}()

// Identifier tells whether the kernel takes s as a name (btf_name_valid_identifier; C identifiers, and dots inside).
func Identifier(s []byte) bool {
	for _, c := range s {
		if !inIdentifier[c] {
			return false
		}
	}
	return len(s) == 0 || len(s) <= MaxName && (s[0] < '0' || s[0] > '9')
}
