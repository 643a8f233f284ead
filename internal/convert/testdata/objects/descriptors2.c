int lost(int strong_name) { return strong_name + 1; }
