// Package badinput tests what the tools do with files that are broken or are not what they should
// be: one clear line, exit code 1, no output file, and an output file that was there before stays
// as it was.
package badinput
