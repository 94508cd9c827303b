package stacks_test

const childFolder = "SLIPWAY_TEST_CHILD"

func child() int { return 1 }
