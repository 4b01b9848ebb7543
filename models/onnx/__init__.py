"""Models as ONNX graphs for other programs."""
