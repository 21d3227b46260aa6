"""The build host of edgeret: models, tools and demonstrations in, one bundle out."""
