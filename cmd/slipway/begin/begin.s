// This file lets begin.go declare a function without a body.
