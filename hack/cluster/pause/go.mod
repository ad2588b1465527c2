module weir.dev/hack/pause

go 1.24.0
