// Package badinput checks what the tools do with files that are broken or of the wrong kind: they
// must print one clear line, exit with 1, write no output file, and leave an existing output file
// as it was.
package badinput
