package cache

import (
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
