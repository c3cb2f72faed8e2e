"""The models of configs/bench in plain PyTorch, in fast standard style: projections are fused where lockstep's are,
masks and angles are made once. Each returns the mean loss of a batch."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal multi-head self-attention; x is [B, T, C]."""

    def __init__(self, width, heads, block_size):
        super().__init__()
        self.heads = heads
        self.c_attn = nn.Linear(width, 3 * width)
        self.c_proj = nn.Linear(width, width)
        # Not a buffer: DDP would broadcast it, and gloo does not support bool.
        self.future = torch.ones(block_size, block_size, dtype=torch.bool).triu(1)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.c_attn(x).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(width // self.heads))
        scores = scores.masked_fill(self.future[:length, :length], float("-inf"))
        y = F.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, block_size):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, block_size)
        self.ln_2 = nn.LayerNorm(width)
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT(nn.Module):
    """GPT-2 with the head tied to the token embedding; returns the mean loss."""

    def __init__(self, layers, width, heads, vocabulary, block_size):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(block_size, width)
        self.h = nn.ModuleList(Block(width, heads, block_size) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight
        self.positions = torch.arange(block_size)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(self.positions[: tokens.shape[1]])
        for block in self.h:
            x = block(x)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


class CrossBlock(Block):
    """A block that also attends to a memory [B, S, C]."""

    def __init__(self, width, heads, block_size):
        super().__init__(width, heads, block_size)
        self.heads = heads
        self.ln_cross = nn.LayerNorm(width)
        self.q_attn = nn.Linear(width, width)
        self.kv_attn = nn.Linear(width, 2 * width)
        self.cross_proj = nn.Linear(width, width)

    def forward(self, x, memory):
        x = x + self.attn(self.ln_1(x))
        q = self.q_attn(self.ln_cross(x)).unflatten(2, (self.heads, -1))
        k, v = (part.unflatten(2, (self.heads, -1)) for part in self.kv_attn(memory).chunk(2, dim=2))
        x = x + self.cross_proj(attend(q, k, v))
        return x + self.c_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Captioner(nn.Module):
    """An encoder of images and a GPT-2 that sees its tokens; both of one width."""

    def __init__(self, encoder, layers, width, heads, vocabulary, block_size):
        super().__init__()
        self.encoder = encoder
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(block_size, width)
        self.h = nn.ModuleList(CrossBlock(width, heads, block_size) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight
        self.positions = torch.arange(block_size)

    def forward(self, image, tokens, targets):
        memory = self.encoder.tokens(image)
        x = self.wte(tokens) + self.wpe(self.positions[: tokens.shape[1]])
        for block in self.h:
            x = block(x, memory)
        logits = self.head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for inputs, outputs in zip(sizes, sizes[1:]):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, image, label):
        return F.cross_entropy(self.layers(image).float(), label)


def attend(q, k, v, hidden=None):
    """q, k, v [B,T,H,D] -> [B,T,H*D]; `hidden` [T,T]: masked positions."""
    q, k, v = (part.transpose(1, 2) for part in (q, k, v))
    scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.shape[-1]))
    if hidden is not None:
        scores = scores.masked_fill(hidden, float("-inf"))
    mixed = F.softmax(scores, dim=-1) @ v
    return mixed.transpose(1, 2).flatten(2)


class BertLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, 1e-12)
        self.intermediate = nn.Linear(width, hidden)
        self.output = nn.Linear(hidden, width)
        self.output_norm = nn.LayerNorm(width, 1e-12)

    def forward(self, x):
        q, k, v = (part(x).unflatten(2, (self.heads, -1)) for part in (self.query, self.key, self.value))
        x = self.attention_norm(self.attention_output(attend(q, k, v)) + x)
        return self.output_norm(self.output(F.gelu(self.intermediate(x))) + x)


class Bert(nn.Module):
    """BERT with the head for masked tokens; targets of others are -100."""

    def __init__(self, layers, width, heads, hidden, vocabulary, positions):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(BertLayer(width, heads, hidden) for _ in range(layers))
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, 1e-12)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.words.weight
        self.positions = torch.arange(positions)

    def forward(self, tokens, targets):
        x = self.words(tokens) + self.types.weight[0] + self.places(self.positions[: tokens.shape[1]])
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        # The other norms read f32 sums; on the CPU a norm of bf16 also needs weights of bf16.
        x = F.gelu(self.transform(x)).float()
        logits = self.decoder(self.transform_norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))


class RMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)).to(x.dtype)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)
        self.norm_1, self.norm_2 = RMSNorm(width), RMSNorm(width)

    @staticmethod
    def rotate(x, cosine, sine):
        first, second = x.chunk(2, -1)
        return x * cosine + torch.cat((-second, first), -1) * sine

    def forward(self, x, cosine, sine, hidden):
        y = self.norm_1(x)
        q, k, v = (part(y).unflatten(2, (self.heads, -1)) for part in (self.q, self.k, self.v))
        q, k = (self.rotate(part, cosine, sine).to(v.dtype) for part in (q, k))
        x = x + self.o(attend(q, k, v, hidden))
        y = self.norm_2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, hidden, vocabulary, positions):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, hidden) for _ in range(layers))
        self.norm = RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        frequency = 10000.0 ** (-torch.arange(0, size, 2) / size)
        angle = torch.arange(positions)[:, None] * torch.cat((frequency, frequency))
        # Not buffers: DDP would broadcast them.
        self.cosine, self.sine = (f(angle)[:, None, :] for f in (torch.cos, torch.sin))
        self.future = torch.ones(positions, positions, dtype=torch.bool).triu(1)

    def forward(self, tokens, targets):
        length = tokens.shape[1]
        x = self.tokens(tokens)
        for block in self.blocks:
            x = block(x, self.cosine[:length], self.sine[:length], self.future[:length, :length])
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.view(-1))
