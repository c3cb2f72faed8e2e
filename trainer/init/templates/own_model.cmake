# Builds main.cpp on an installed lockstep. Written by `lockstep init`.
cmake_minimum_required(VERSION 3.25)
project(own_model LANGUAGES CXX)

find_package(lockstep @version@ REQUIRED)  # CMAKE_PREFIX_PATH says where it is installed

add_executable(train main.cpp)
target_link_libraries(train PRIVATE lockstep::lockstep)
