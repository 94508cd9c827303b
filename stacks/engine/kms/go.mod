module github.com/aws/aws-sdk-go-v2/service/kms

go 1.22
