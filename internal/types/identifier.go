package types

// MaxName is the longest name that the kernel takes, in bytes (KSYM_NAME_LEN less the NUL).
const MaxName = 511

// Identifier tells whether the kernel takes s as a name (btf_name_valid_identifier; C identifiers, and dots inside).
func Identifier(s []byte) bool {
	for i, c := range s {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '.'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return len(s) <= MaxName
}
