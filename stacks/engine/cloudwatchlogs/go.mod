module github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs

go 1.22
