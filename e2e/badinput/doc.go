// Package badinput checks what the tools do with files that are broken or of the wrong kind. Unless
// the damage is harmless, a tool must print one clear line, exit with 1, write no output file, and
// leave an existing output file unchanged.
package badinput
