#!/bin/sh
# Generates providers/protocol/pb from provider.proto. Needs protoc (Debian:
# protobuf-compiler) beside Go; the two Go plugins are tools of this module.
set -eu
cd "$(dirname "$0")/pb"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
for tool in google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc; do
	go build -o "$bin/${tool##*/}" "$tool"
done
PATH="$bin:$PATH" protoc --go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative provider.proto
# The compiler's version differs from machine to machine; the code does not.
sed -i -E '/^\/\/ +(- )?protoc +v/d' provider.pb.go provider_grpc.pb.go
