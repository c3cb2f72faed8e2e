"""The models of images of configs/bench in plain PyTorch; see torch_models.py."""

import torch
from torch import nn
from torch.nn import functional as F

from torch_models import attend


class ViTLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.norm_1, self.norm_2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.intermediate = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, width)

    def forward(self, x):
        y = self.norm_1(x)
        q, k, v = (part(y).unflatten(2, (self.heads, -1)) for part in (self.query, self.key, self.value))
        x = x + self.out(attend(q, k, v))
        return x + self.output(F.gelu(self.intermediate(self.norm_2(x))))


class ViTEncoder(nn.Module):
    def __init__(self, layers, width, heads, hidden, image, patch, channels):
        super().__init__()
        self.patches = nn.Conv2d(channels, width, patch, patch)
        self.first = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 1 + (image // patch)**2, width) * 0.02)
        self.layers = nn.ModuleList(ViTLayer(width, heads, hidden) for _ in range(layers))
        self.norm = nn.LayerNorm(width, 1e-12)

    def before_norm(self, image):
        patches = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.first.expand(len(image), -1, -1), patches), 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return x

    def tokens(self, image):
        """[B, 1 + patches, C]"""
        return self.norm(self.before_norm(image))


class ViT(ViTEncoder):
    def __init__(self, layers, width, heads, hidden, image, patch, channels, classes):
        super().__init__(layers, width, heads, hidden, image, patch, channels)
        self.classifier = nn.Linear(width, classes)

    def forward(self, image, label):
        return F.cross_entropy(self.classifier(self.norm(self.before_norm(image)[:, 0])).float(), label)


class ResNetBlock(nn.Module):
    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        sizes = ([(inputs, width, 1, 1), (width, width, 3, stride), (width, outputs, 1, 1)] if bottleneck
                 else [(inputs, width, 3, stride), (width, outputs, 3, 1)])
        self.convs = nn.ModuleList(nn.Conv2d(a, b, k, s, k // 2, bias=False) for a, b, k, s in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _, _ in sizes)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                                            nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = x
        for conv, norm in zip(self.convs[:-1], self.norms[:-1]):
            y = F.relu(norm(conv(y)), inplace=True)
        y = self.norms[-1](self.convs[-1](y))
        y += x if self.downsample is None else self.downsample(x)
        return F.relu(y, inplace=True)


class ResNet(nn.Module):
    """torchvision's, or, with stem "cifar", the usual one for images of 32 x 32."""

    def __init__(self, depths, bottleneck, stem, classes):
        super().__init__()
        self.conv = nn.Conv2d(3, 64, 7, 2, 3, bias=False) if stem == "imagenet" else nn.Conv2d(3, 64, 3, 1, 1, bias=False)
        self.norm = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(3, 2, 1) if stem == "imagenet" else nn.Identity()
        blocks, inputs, width = [], 64, 64
        for stage, depth in enumerate(depths):
            for block in range(depth):
                blocks.append(ResNetBlock(inputs, width, 2 if stage > 0 and block == 0 else 1, bottleneck))
                inputs = 4 * width if bottleneck else width
            width *= 2
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, image, label):
        x = self.pool(F.relu(self.norm(self.conv(image)), inplace=True))
        return F.cross_entropy(self.fc(self.blocks(x).mean((2, 3))).float(), label)
