module example.com/smoke

go 1.24.0

require golang.org/x/sys v0.33.0
